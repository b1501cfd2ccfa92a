/** What an answer says of single rows, in the order of the request. */
export class Remarks {
  private readonly warnings: Remark[] = [];
  private readonly errors: Remark[] = [];

  /** @param place of the row in the request, from 0. */
  warn(place: number, problem: string): void {
    this.warnings.push({ place, problem });
  }

  refuse(place: number, problem: string): void {
    this.errors.push({ place, problem });
  }

  /** The fields that an answer adds; a kind without an entry is absent. */
  toAnswer(): { warnings?: string[]; errors?: string[] } {
    const { warnings, errors } = this;
    return {
      ...(warnings.length > 0 ? { warnings: sentences(warnings) } : {}),
      ...(errors.length > 0 ? { errors: sentences(errors) } : {}),
    };
  }
}

interface Remark {
  place: number;
  problem: string;
}

function sentences(remarks: Remark[]): string[] {
  return remarks.sort((a, b) => a.place - b.place).map(({ place, problem }) => `Row ${place}: ${problem}.`);
}
