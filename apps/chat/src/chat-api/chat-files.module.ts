import { Module } from '@nestjs/common';
import { ChatFilesController } from './chat-files.controller';
import { ChatFilesService } from './chat-files.service';
import { ChatPrincipalsModule } from './chat-principals.module';

@Module({
  imports: [ChatPrincipalsModule],
  controllers: [ChatFilesController],
  providers: [ChatFilesService],
})
export class ChatFilesModule {}
