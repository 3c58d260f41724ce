//! Where the compiler starts: makes the module `plugin`, which is the project's, the component's exports.

const std = @import("std");
const exports = @import("nacre").Exports(@import("plugin").Plugin);

/// One line for the server's log, without the machinery that prints stack traces.
pub const panic = std.debug.FullPanic(struct {
    fn panic(message: []const u8, _: ?usize) noreturn {
        _ = std.c.write(2, message.ptr, message.len);
        @trap();
    }
}.panic);

comptime {
    @export(&exports.describe, .{ .name = "nacre_describe" });
    @export(&exports.configure, .{ .name = "nacre_configure" });
    @export(&exports.process, .{ .name = "nacre_process" });
}
