//! Sound to log-mel frames, as speech models take them.
//!
//! - input `samples` INT16 [n]: one channel
//! - output `mel` FP32 [frames, mels]: natural logarithm of the energy in each band of the mel scale; a frame each `hop`
//!   samples, as many as fit
//!
//! Parameters: `sample_rate` (16000), `window` (400) and `hop` (160) in samples, `mels` (80) bands, from `lowest` (20) to
//! `highest` (0: half the sample rate) Hz. Windows are Hann's, periodic, filled up with zeros to a power of two; bands are
//! triangles on the HTK mel scale; energies below 1e-10 count as that.

const std = @import("std");
const nacre = @import("nacre");

const Complex = std.math.Complex(f32);

/// A band: its first frequency of the spectrum, and the weights from there on.
const Band = struct { first: usize, weights: []const f32 };

pub const Plugin = struct {
    hop: usize = 0,
    window: []const f32 = &.{},
    /// e^(-2πik/size) for the lower half of the circle.
    twiddles: []const Complex = &.{},
    bands: []const Band = &.{},

    pub fn describe(_: *Plugin, settings: nacre.Settings) !nacre.Description {
        const dims = try nacre.allocator.dupe(i64, &.{ -1, try settings.integer("mels", 80) });
        return .{
            .summary = "sound to log-mel frames",
            .inputs = &.{.{ .name = "samples", .type = .int16, .dims = &.{-1} }},
            .outputs = try nacre.allocator.dupe(nacre.Spec, &.{.{ .name = "mel", .type = .fp32, .dims = dims }}),
        };
    }

    pub fn configure(self: *Plugin, settings: nacre.Settings) !void {
        const rate = try positive(settings, "sample_rate", 16000);
        const length = try positive(settings, "window", 400);
        const mels = try positive(settings, "mels", 80);
        self.hop = try positive(settings, "hop", 160);
        const lowest = try settings.float("lowest", 20);
        const asked = try settings.float("highest", 0);
        const nyquist = @as(f32, @floatFromInt(rate)) / 2;
        const highest = if (asked == 0) nyquist else asked;
        if (!(lowest >= 0 and lowest < highest and highest <= nyquist)) {
            return nacre.fail(.invalid_argument, "parameters 'lowest' ({d}) and 'highest' ({d}): expected 0 to {d}, rising", .{ lowest, highest, nyquist });
        }

        const size = try std.math.ceilPowerOfTwo(usize, length);
        const window = try nacre.allocator.alloc(f32, length);
        for (window, 0..) |*value, i| value.* = 0.5 - 0.5 * @cos(circle(i, length));
        const twiddles = try nacre.allocator.alloc(Complex, size / 2);
        for (twiddles, 0..) |*value, k| value.* = .init(@cos(circle(k, size)), -@sin(circle(k, size)));
        const bands = try nacre.allocator.alloc(Band, mels);
        for (bands, 0..) |*band, i| {
            const low = toHertz(at(lowest, highest, i, mels));
            const middle = toHertz(at(lowest, highest, i + 1, mels));
            const high = toHertz(at(lowest, highest, i + 2, mels));
            band.* = try makeBand(low, middle, high, @as(f32, @floatFromInt(rate)) / @as(f32, @floatFromInt(size)), size / 2 + 1);
        }
        self.window = window;
        self.twiddles = twiddles;
        self.bands = bands;
    }

    pub fn process(self: *Plugin, request: nacre.Request, response: nacre.Response) !void {
        const samples = (try request.input("samples", i16)).values;
        const frames = if (samples.len < self.window.len) 0 else (samples.len - self.window.len) / self.hop + 1;
        const mel = response.output("mel", f32, &.{ @intCast(frames), @intCast(self.bands.len) });
        const size = self.twiddles.len * 2;
        const spectrum = try nacre.allocator.alloc(Complex, size);
        const energy = try nacre.allocator.alloc(f32, size / 2 + 1);
        for (0..frames) |frame| {
            @memset(spectrum, .init(0, 0));
            const part = samples[frame * self.hop ..][0..self.window.len];
            for (spectrum[0..part.len], part, self.window) |*to, sample, weight| {
                to.re = @as(f32, @floatFromInt(sample)) / 32768 * weight;
            }
            transform(spectrum, self.twiddles);
            for (energy, spectrum[0..energy.len]) |*to, from| to.* = from.re * from.re + from.im * from.im;
            for (mel[frame * self.bands.len ..][0..self.bands.len], self.bands) |*to, band| {
                var sum: f32 = 0;
                for (band.weights, energy[band.first..][0..band.weights.len]) |weight, value| sum += weight * value;
                to.* = @log(@max(sum, 1e-10));
            }
        }
    }
};

fn positive(settings: nacre.Settings, name: [:0]const u8, otherwise: i64) !usize {
    const value = try settings.integer(name, otherwise);
    if (value < 1 or value > 1 << 20) return nacre.fail(.invalid_argument, "parameter '{s}' is {d}: expected 1 to {d}", .{ name, value, 1 << 20 });
    return @intCast(value);
}

/// 2π·part/whole.
fn circle(part: usize, whole: usize) f32 {
    return 2 * std.math.pi * @as(f32, @floatFromInt(part)) / @as(f32, @floatFromInt(whole));
}

/// The mel value of the `i`-th of `mels + 2` points from one frequency to another.
fn at(lowest: f32, highest: f32, i: usize, mels: usize) f32 {
    const part = @as(f32, @floatFromInt(i)) / @as(f32, @floatFromInt(mels + 1));
    return toMel(lowest) + part * (toMel(highest) - toMel(lowest));
}

fn toMel(hertz: f32) f32 {
    return 2595 * std.math.log10(1 + hertz / 700);
}

fn toHertz(mel: f32) f32 {
    return 700 * (std.math.pow(f32, 10, mel / 2595) - 1);
}

/// A triangle over frequencies that are `step` apart.
fn makeBand(low: f32, middle: f32, high: f32, step: f32, count: usize) !Band {
    const first: usize = @intFromFloat(@ceil(low / step));
    const end = @min(count, @as(usize, @intFromFloat(@ceil(high / step))));
    const weights = try nacre.allocator.alloc(f32, end -| first);
    for (weights, first..) |*weight, i| {
        const frequency = @as(f32, @floatFromInt(i)) * step;
        weight.* = @max(0, @min((frequency - low) / (middle - low), (high - frequency) / (high - middle)));
    }
    return .{ .first = @min(first, count), .weights = weights };
}

/// The Fourier transform in place, of a power of two of values.
fn transform(values: []Complex, twiddles: []const Complex) void {
    const bits = std.math.log2_int(usize, values.len);
    for (0..values.len) |i| {
        const j = if (bits == 0) 0 else @bitReverse(i) >> @intCast(@bitSizeOf(usize) - @as(usize, bits));
        if (i < j) std.mem.swap(Complex, &values[i], &values[j]);
    }
    var half: usize = 1;
    while (half < values.len) : (half *= 2) {
        const stride = twiddles.len / half;
        var start: usize = 0;
        while (start < values.len) : (start += 2 * half) {
            const even = values[start..][0..half];
            const odd = values[start + half ..][0..half];
            for (even, odd, 0..) |*a, *b, k| {
                const turned = b.mul(twiddles[k * stride]);
                b.* = a.sub(turned);
                a.* = a.add(turned);
            }
        }
    }
}
