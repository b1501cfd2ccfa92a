import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Time until which the use of models was reported to other services. One row. */
@Entity('use_report')
@Check('use_report_singleton_check', 'singleton')
export class UseReportEntity {
  @PrimaryColumn('boolean') singleton!: true;
  @Column({ type: 'timestamptz', precision: 3 }) reported_until!: Date;
}
