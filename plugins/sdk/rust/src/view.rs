//! A tensor's values with their shape: rows, single values, all without a copy.

use std::{borrow::Cow, ops::Deref};

use crate::{Element, Error, Tensor};

/// Values of a tensor and its dimensions; see [`Tensor::view`]. It is also the slice of its values, row-major.
///
/// An index beyond a dimension panics, as a slice's does.
#[derive(Debug, Clone)]
pub struct View<'a, T: Element> {
    values: Cow<'a, [T]>,
    shape: &'a [i64],
}

impl Tensor {
    /// The values with their shape, of any number of dimensions.
    ///
    /// # Errors
    /// `invalid-argument` if the tensor has another data type, or values that its shape does not call for.
    pub fn view<T: Element>(&self) -> Result<View<'_, T>, Error> {
        let values = self.values()?;
        if crate::tensor::element_count(&self.name, &self.shape)? != values.len() {
            return Err(Error::invalid_argument(format!(
                "tensor '{}' of shape {:?} has {} values",
                self.name,
                self.shape,
                values.len()
            )));
        }
        Ok(View { values, shape: &self.shape })
    }

    /// The values with their shape, which must have `N` dimensions: `let [rows, columns] = tensor.dims()?`.
    ///
    /// # Errors
    /// `invalid-argument` if it has more or fewer.
    pub fn dims<const N: usize>(&self) -> Result<[usize; N], Error> {
        let sizes: Vec<_> = self.shape.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect();
        sizes.try_into().map_err(|_| {
            Error::invalid_argument(format!(
                "tensor '{}' has the shape {:?}: expected {N} dimension{}",
                self.name,
                self.shape,
                if N == 1 { "" } else { "s" }
            ))
        })
    }
}

impl<T: Element> View<'_, T> {
    /// Sizes of the dimensions.
    pub fn shape(&self) -> &[i64] {
        self.shape
    }

    /// Number of rows: the size of the first dimension. A view without dimensions has one, itself.
    pub fn row_count(&self) -> usize {
        self.shape.first().map_or(1, |&rows| rows as usize)
    }

    /// What lies at `index` of the first dimension: of a matrix its row, of a batch its element.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, index: usize) -> View<'_, T> {
        let rows = self.row_count();
        assert!(index < rows, "row {index} of a view of shape {:?}", self.shape);
        let length = self.values.len() / rows;
        let values = Cow::Borrowed(&self.values[index * length..][..length]);
        View { values, shape: self.shape.get(1..).unwrap_or_default() }
    }

    /// Each row in turn.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = View<'_, T>> {
        (0..self.row_count()).map(|index| self.row(index))
    }

    /// The value at `[i, j, …]`, one index for each dimension.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn at<const N: usize>(&self, indices: [usize; N]) -> T {
        let inside = indices.len() == self.shape.len()
            && indices.iter().zip(self.shape).all(|(&index, &dim)| index < dim as usize);
        assert!(inside, "index {indices:?} of a view of shape {:?}", self.shape);
        let place =
            indices.iter().zip(self.shape).fold(0, |place, (&index, &dim)| place * dim as usize + index);
        self.values[place]
    }
}

impl<T: Element> Deref for View<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(shape: &[i64]) -> Tensor {
        let count = shape.iter().product::<i64>();
        Tensor::from_values("x", shape, &(0..count).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn rows_lie_behind_one_another_in_every_dimension() {
        let tensor = counted(&[2, 3, 4]);
        let view = tensor.view::<i64>().unwrap();
        assert_eq!(view.row(1).shape(), [3, 4]);
        assert_eq!(&view.row(1).row(2)[..], [20, 21, 22, 23]);
        assert_eq!(view.at([1, 2, 3]), 23);
        assert_eq!(view.row(1).at([2, 3]), 23);
        assert_eq!(view.rows().map(|row| row.iter().sum::<i64>()).collect::<Vec<_>>(), [66, 210]);
    }

    #[test]
    fn a_view_does_not_copy() {
        let tensor = counted(&[2, 2]);
        let view = tensor.view::<i64>().unwrap();
        assert_eq!(view.row(1).as_ptr().cast(), &raw const tensor.data[16]);
    }

    #[test]
    fn rows_may_be_empty_and_a_scalar_is_a_value() {
        let tensor = counted(&[3, 0]);
        let view = tensor.view::<i64>().unwrap();
        assert_eq!(view.rows().map(|row| row.len()).collect::<Vec<_>>(), [0, 0, 0]);
        assert_eq!(counted(&[0, 3]).view::<i64>().unwrap().rows().count(), 0);
        assert_eq!(counted(&[]).view::<i64>().unwrap().at([]), 0);
    }

    #[test]
    #[should_panic(expected = "index [0, 3] of a view of shape [2, 3]")]
    fn an_index_beyond_its_dimension_is_not_the_next_row() {
        counted(&[2, 3]).view::<i64>().unwrap().at([0, 3]);
    }

    #[test]
    #[should_panic(expected = "row 2 of a view of shape [2, 3]")]
    fn a_row_beyond_the_last_panics() {
        counted(&[2, 3]).view::<i64>().unwrap().row(2);
    }

    #[test]
    fn another_number_of_dimensions_is_an_error() {
        assert_eq!(counted(&[2, 3]).dims::<2>().unwrap(), [2, 3]);
        let error = counted(&[2, 3]).dims::<1>().unwrap_err();
        assert_eq!(error.message, "tensor 'x' has the shape [2, 3]: expected 1 dimension");
    }

    #[test]
    fn values_that_the_shape_does_not_call_for_are_refused() {
        let mut tensor = counted(&[2, 3]);
        tensor.shape = vec![2, 4];
        assert_eq!(tensor.view::<i64>().unwrap_err().message, "tensor 'x' of shape [2, 4] has 6 values");
    }
}
