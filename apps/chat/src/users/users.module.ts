import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BotDefinitionsModule } from '../bots/bot-definitions.module';
import { ListQueriesModule } from '../queries/list-queries.module';
import { SignalsModule } from '../signals/signals.module';
import { TagsModule } from '../tags/tags.module';
import { UserEntity } from './user.entity';
import { UsersController } from './users.controller';
import { UsersRepository } from './users.repository';
import { UsersService } from './users.service';

@Module({
  imports: [TypeOrmModule.forFeature([UserEntity]), BotDefinitionsModule, ListQueriesModule, SignalsModule, TagsModule],
  controllers: [UsersController],
  providers: [UsersService, UsersRepository],
  exports: [UsersService, UsersRepository],
})
export class UsersModule {}
