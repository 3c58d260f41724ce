// Leaves of detections that overlap the one with the highest score.
//
// - inputs: `boxes` FP32 [n, 4] (left, top, right, bottom), `scores` FP32 [n], `classes` INT64 [n], optional: only
//   boxes of one class suppress each other
// - outputs, the highest score first: `kept_boxes` FP32 [k, 4], `kept_scores` FP32 [k], `kept_classes` INT64 [k] (zeros
//   without `classes`), `kept_indices` INT32 [k], where they were in the input
//
// Parameters: `iou` (0.5), the part of their union that two boxes may share; `score` (0.25), the least that is kept;
// `most` (100), how many are kept.

#include <algorithm>
#include <vector>

#include "nacre.hpp"

namespace {

struct Box {
  float left, top, right, bottom;
  float area() const { return std::max(0.0f, right - left) * std::max(0.0f, bottom - top); }
};

// Intersection over union.
float overlap(const Box &a, const Box &b) {
  Box both{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right), std::min(a.bottom, b.bottom)};
  float together = a.area() + b.area() - both.area();
  return together > 0 ? both.area() / together : 0;
}

class Plugin {
 public:
  nacre::Result<nacre::Description> describe(const nacre::Settings &) {
    return nacre::Description("leaves of detections that overlap the one with the highest score")
        .input("boxes", NACRE_FP32, {-1, 4})
        .input("scores", NACRE_FP32, {-1})
        .optional_input("classes", NACRE_INT64, {-1})
        .output("kept_boxes", NACRE_FP32, {-1, 4})
        .output("kept_scores", NACRE_FP32, {-1})
        .output("kept_classes", NACRE_INT64, {-1})
        .output("kept_indices", NACRE_INT32, {-1});
  }

  nacre::Result<void> configure(const nacre::Settings &settings) {
    NACRE_TRY(iou, settings.number("iou", 0.5f));
    NACRE_TRY(score, settings.number("score", 0.25f));
    NACRE_TRY(most, settings.integer("most", 100));
    if (!(iou >= 0 && iou <= 1)) return nacre::fail(NACRE_INVALID_ARGUMENT, "parameter 'iou' is %g: expected 0 to 1", iou);
    if (most < 1) return nacre::fail(NACRE_INVALID_ARGUMENT, "parameter 'most' is %lld: expected 1 or more", most);
    iou_ = iou;
    score_ = score;
    most_ = static_cast<std::size_t>(most);
    return {};
  }

  nacre::Result<nacre::Response> process(const nacre::Request &request) {
    NACRE_TRY(boxes_input, request.input<float>("boxes"));
    NACRE_TRY(scores_input, request.input<float>("scores"));
    auto scores = scores_input.values<float>();
    auto numbers = boxes_input.values<float>();
    if (numbers.size() != 4 * scores.size()) {
      return nacre::fail(NACRE_INVALID_ARGUMENT, "'boxes' has %zu rows and 'scores' %zu: expected as many", numbers.size() / 4,
                         scores.size());
    }
    std::span boxes(reinterpret_cast<const Box *>(numbers.data()), scores.size());
    std::vector<std::int64_t> classes(scores.size(), 0);
    if (auto given = request.find("classes")) {
      auto values = given->values<std::int64_t>();
      if (values.size() != scores.size()) {
        return nacre::fail(NACRE_INVALID_ARGUMENT, "'classes' has %zu values and 'scores' %zu: expected as many",
                           values.size(), scores.size());
      }
      classes.assign(values.begin(), values.end());
    }

    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < scores.size(); i++) {
      if (scores[i] >= score_) order.push_back(static_cast<std::int32_t>(i));  // NaN is not
    }
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
    std::vector<std::int32_t> kept;
    for (auto candidate : order) {
      if (kept.size() == most_) break;
      bool hidden = std::any_of(kept.begin(), kept.end(), [&](auto other) {
        return classes[other] == classes[candidate] && overlap(boxes[other], boxes[candidate]) > iou_;
      });
      if (!hidden) kept.push_back(candidate);
    }

    const auto count = static_cast<std::int64_t>(kept.size());
    const std::int64_t rows[] = {count, 4};
    const std::int64_t row[] = {count};
    nacre::Response response;
    auto kept_boxes = response.add<float>("kept_boxes", rows);
    auto kept_scores = response.add<float>("kept_scores", row);
    auto kept_classes = response.add<std::int64_t>("kept_classes", row);
    auto kept_indices = response.add<std::int32_t>("kept_indices", row);
    for (std::size_t i = 0; i < kept.size(); i++) {
      std::copy_n(&numbers[4 * kept[i]], 4, &kept_boxes[4 * i]);
      kept_scores[i] = scores[kept[i]];
      kept_classes[i] = classes[kept[i]];
      kept_indices[i] = kept[i];
    }
    return response;
  }

 private:
  float iou_ = 0.5f, score_ = 0.25f;
  std::size_t most_ = 100;
};

}  // namespace

NACRE_EXPORT(Plugin);
