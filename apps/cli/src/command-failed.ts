/** What cannot be done, told to the person at the terminal without a stack. */
export class CommandFailed extends Error {}

/** A command line that says something else than the usage of its command. */
export class Misused extends CommandFailed {}
