import { Module } from '@nestjs/common';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { CodeChecksController } from './code-checks.controller';
import { CodeChecksService } from './code-checks.service';

@Module({
  imports: [InvocationsModule, IssuesModule],
  controllers: [CodeChecksController],
  providers: [CodeChecksService],
})
export class CodeChecksModule {}
