/** The file cannot be read. The message is public: the problem and the remedy. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
