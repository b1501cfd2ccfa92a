/** The file cannot be read on: the message says what is wrong with it, for the person who sent it. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
