/** A command that cannot succeed. Its message is printed without a stack trace, and the exit code is 1. */
export class CommandFailed extends Error {}
