//! The program `proctor`. Everything it does is in the library of the same name.

/// Requests are many small allocations that one thread makes and another frees.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    proctor::command_line()
}
