import { Module } from '@nestjs/common';
import { BotTargetsModule } from '../bot-targets/bot-targets.module';
import { InvocationsModule } from '../invocations/invocations.module';
import { PingsController } from './pings.controller';
import { PingsService } from './pings.service';

@Module({ imports: [BotTargetsModule, InvocationsModule], controllers: [PingsController], providers: [PingsService] })
export class PingsModule {}
