//! {{name}}: multiplies numbers, adds to them, and greets.
//!
//! - input `x` FP32 [-1] → output `y` FP32 [-1]: x * factor + offset
//! - input `names` BYTES [-1], optional → output `greetings` BYTES [-1], of the same shape
//!
//! Parameters of config.pbtxt: `factor` (1), `offset` (0).

const nacre = @import("nacre");

pub const Plugin = struct {
    factor: f32 = 1,
    offset: f32 = 0,

    pub const description = nacre.Description{
        .summary = "multiplies numbers, adds to them, and greets",
        .inputs = &.{
            .{ .name = "x", .type = .fp32, .dims = &.{-1} },
            .{ .name = "names", .type = .bytes, .dims = &.{-1}, .optional = true },
        },
        .outputs = &.{
            .{ .name = "y", .type = .fp32, .dims = &.{-1} },
            .{ .name = "greetings", .type = .bytes, .dims = &.{-1} },
        },
    };

    pub fn configure(self: *Plugin, settings: nacre.Settings) !void {
        self.factor = try settings.float("factor", 1);
        self.offset = try settings.float("offset", 0);
    }

    pub fn process(self: *Plugin, request: nacre.Request, response: nacre.Response) !void {
        const x = try request.input("x", f32);
        const y = response.output("y", f32, x.shape);
        for (y, x.values) |*to, from| to.* = from * self.factor + self.offset;

        if (request.has("names")) {
            var names = try request.strings("names");
            var greetings = nacre.StringList{};
            while (names.next()) |name| greetings.print("hello, {s}", .{name});
            response.outputStrings("greetings", names.shape, &greetings);
        }
    }
};
