import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Entity, Index } from 'typeorm';

/**
 * Tag of a file, for lists of names and values and for filters. Triggers on `file` maintain the rows; they leave out
 * names of more than 200 characters.
 */
@Entity('file_tag')
// Index on bot_id, name, left(value, 300), md5(value) and file_id: TypeORM declares no expressions.
@Index('file_tag_value', { synchronize: false })
export class FileTagEntity {
  @PrimaryIdColumn() file_id!: string;
  @PrimaryIdColumn() name!: string;
  @IdColumn() value!: string;
  @IdColumn() bot_id!: string;
}
