import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConversationEntity } from '../conversations/conversation.entity';
import { SignalsModule } from '../signals/signals.module';
import { ChatActionsController } from './chat-actions.controller';
import { ChatActionsRepository } from './chat-actions.repository';
import { ChatActionsService } from './chat-actions.service';

@Module({
  imports: [TypeOrmModule.forFeature([ConversationEntity]), SignalsModule],
  controllers: [ChatActionsController],
  providers: [ChatActionsService, ChatActionsRepository],
})
export class ChatActionsModule {}
