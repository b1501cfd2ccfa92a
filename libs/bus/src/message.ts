/** What travels over the bus. */
export interface Message {
  /** One line: of a request the caller as JSON, of an answer how it went. */
  head: string;
  /** JSON text. */
  body: string;
}
