const intervalMs = 500;

/** One line on a terminal that says how far it is; nothing where there is no terminal. */
export class Progress {
  private stage = '';
  private readonly timer?: NodeJS.Timeout;

  constructor(
    private readonly write: (text: string) => void,
    private readonly bytes: () => number,
  ) {
    if (process.stdout.isTTY) this.timer = setInterval(() => this.print(), intervalMs).unref();
  }

  show(stage: string): void {
    this.stage = stage;
  }

  end(): void {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.write('\r\u001b[2K');
  }

  private print(): void {
    this.write(`\r\u001b[2K${this.stage}: ${(this.bytes() / 1e6).toFixed(0)} MB`);
  }
}
