import type { CreateTableRows } from '@parley/contracts/tables/rows';

/** What an answer says of single rows, in the order of the request. */
export class Remarks {
  private readonly warnings: Remark[] = [];
  private readonly errors: Remark[] = [];
  private readonly notices: string[] = [];

  /** Says what of the request as a whole is not done as asked. */
  static of({ rows, waitComputed }: Pick<CreateTableRows, 'rows' | 'waitComputed'>): Remarks {
    const remarks = new Remarks();
    if (waitComputed && rows.length > 1)
      remarks.notices.push('waitComputed was left out: it is for requests with a single row.');
    return remarks;
  }

  /** @param place of the row in the request, from 0. */
  warn(place: number, problem: string): void {
    this.warnings.push({ place, problem });
  }

  refuse(place: number, problem: string): void {
    this.errors.push({ place, problem });
  }

  /** The fields that an answer adds; a kind without an entry is absent. */
  toAnswer(): { warnings?: string[]; errors?: string[] } {
    const { errors } = this;
    const warnings = [...this.notices, ...sentences(this.warnings)];
    return {
      ...(warnings.length > 0 ? { warnings } : {}),
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
