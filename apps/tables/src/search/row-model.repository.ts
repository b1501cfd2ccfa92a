import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { RowKey } from '@parley/contracts/tables/reindex';
import { Database } from '@parley/persistence/database';
import type { Repository } from 'typeorm';
import { RowModelEntity } from './row-point.entity';

@Injectable()
export class RowModelRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(RowModelEntity) private readonly models: Repository<RowModelEntity>,
  ) {}

  /** Stores the model of the rows. When it is another one than before, all rows from `first` on are to be marked. */
  async changeModel(model: string, first: RowKey, { isKnown }: { isKnown: boolean }): Promise<void> {
    const start = JSON.stringify(first);
    await this.database.query(
      `INSERT INTO row_model (model, next) VALUES ($1, $2)
       ON CONFLICT (is_only) DO UPDATE SET model = excluded.model, next = $3 WHERE row_model.model <> excluded.model`,
      [model, isKnown ? null : start, start],
    );
  }

  /** Null when all rows are marked for the model, or when it is no longer the one of the rows. */
  async findNext(model: string): Promise<RowKey | null> {
    return (await this.models.findOneBy({ model }))?.next ?? null;
  }

  async saveNext(model: string, next: RowKey | null): Promise<void> {
    await this.models.update({ model }, { next });
  }
}
