import type { CreateTableRows } from '@parley/contracts/tables/rows';

export class RowProblems {
  private readonly warnings: RowProblem[] = [];
  private readonly errors: RowProblem[] = [];
  private readonly notices: string[] = [];

  static of({ rows, waitComputed }: Pick<CreateTableRows, 'rows' | 'waitComputed'>): RowProblems {
    const remarks = new RowProblems();
    if (waitComputed && rows.length > 1)
      remarks.notices.push('waitComputed was ignored: it is supported for a single row only.');
    return remarks;
  }

  warn(place: number, problem: string): void {
    this.warnings.push({ position: place, problem });
  }

  refuse(place: number, problem: string): void {
    this.errors.push({ position: place, problem });
  }

  toReply(): { warnings?: string[]; errors?: string[] } {
    const { errors } = this;
    const warnings = [...this.notices, ...sentences(this.warnings)];
    return {
      ...(warnings.length > 0 ? { warnings } : {}),
      ...(errors.length > 0 ? { errors: sentences(errors) } : {}),
    };
  }
}

interface RowProblem {
  position: number;
  problem: string;
}

function sentences(remarks: RowProblem[]): string[] {
  return remarks.sort((a, b) => a.position - b.position).map(({ position: place, problem }) => `Row ${place}: ${problem}.`);
}
