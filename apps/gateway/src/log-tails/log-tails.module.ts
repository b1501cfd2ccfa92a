import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module';
import { LogTailsController } from './log-tails.controller';
import { LogTailsService } from './log-tails.service';

@Module({ imports: [AuthModule], controllers: [LogTailsController], providers: [LogTailsService] })
export class LogTailsModule {}
