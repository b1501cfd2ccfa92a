import { Module } from '@nestjs/common';
import { TagsModule } from '../tags/tags.module';
import { UsersModule } from '../users/users.module';
import { ChatPrincipalsModule } from './chat-principals.module';
import { ChatUsersController } from './chat-users.controller';
import { ChatUsersService } from './chat-users.service';

@Module({
  imports: [ChatPrincipalsModule, TagsModule, UsersModule],
  controllers: [ChatUsersController],
  providers: [ChatUsersService],
})
export class ChatUsersModule {}
