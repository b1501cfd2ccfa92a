import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ComputingBotEntity } from './computing-bot.entity';
import { ComputingBotsRepository } from './computing-bots.repository';

@Module({
  imports: [TypeOrmModule.forFeature([ComputingBotEntity])],
  providers: [ComputingBotsRepository],
  exports: [ComputingBotsRepository],
})
export class ComputingBotsModule {}
