import { Module } from '@nestjs/common';
import { BotTargetsCache } from './bot-targets.cache';

@Module({ providers: [BotTargetsCache], exports: [BotTargetsCache] })
export class BotTargetsModule {}
