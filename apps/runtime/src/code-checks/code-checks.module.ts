import { Module } from '@nestjs/common';
import { IssuesModule } from '../issues/issues.module';
import { CodeChecksController } from './code-checks.controller';
import { CodeChecksService } from './code-checks.service';

@Module({
  imports: [IssuesModule],
  controllers: [CodeChecksController],
  providers: [CodeChecksService],
})
export class CodeChecksModule {}
