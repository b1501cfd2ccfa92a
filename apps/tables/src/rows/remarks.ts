import type { CreateTableRows } from '@parley/contracts/tables/rows';

export class Remarks {
  private readonly warnings: Remark[] = [];
  private readonly errors: Remark[] = [];
  private readonly notices: string[] = [];

  static of({ rows, waitComputed }: Pick<CreateTableRows, 'rows' | 'waitComputed'>): Remarks {
    const remarks = new Remarks();
    if (waitComputed && rows.length > 1)
      remarks.notices.push('waitComputed was ignored: it is supported for a single row only.');
    return remarks;
  }

  warn(place: number, problem: string): void {
    this.warnings.push({ place, problem });
  }

  refuse(place: number, problem: string): void {
    this.errors.push({ place, problem });
  }

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
