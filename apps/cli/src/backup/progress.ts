const intervalMs = 500;

/** Progress in one line of a terminal; silent elsewhere. */
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
