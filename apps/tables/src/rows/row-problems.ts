import type { CreateTableRows } from '@parley/contracts/tables/rows';

export class RowProblems {
  private readonly warnings: RowProblem[] = [];
  private readonly errors: RowProblem[] = [];
  private readonly notices: string[] = [];

  static of({ rows, waitComputed }: Pick<CreateTableRows, 'rows' | 'waitComputed'>): RowProblems {
    const problems = new RowProblems();
    if (waitComputed && rows.length > 1)
      problems.notices.push('waitComputed was ignored: it is supported for a single row only.');
    return problems;
  }

  warn(position: number, problem: string): void {
    this.warnings.push({ position, problem });
  }

  refuse(position: number, problem: string): void {
    this.errors.push({ position, problem });
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

function sentences(problems: RowProblem[]): string[] {
  return problems
    .sort((a, b) => a.position - b.position)
    .map(({ position, problem }) => `Row ${position}: ${problem}.`);
}
