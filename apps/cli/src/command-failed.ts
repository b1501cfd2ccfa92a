/** What cannot be done, told to the person at the terminal without a stack. */
export class CommandFailed extends Error {}
