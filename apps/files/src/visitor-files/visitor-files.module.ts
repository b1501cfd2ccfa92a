import { Module } from '@nestjs/common';
import { ContentModule } from '../content/content.module';
import { StoredFilesModule } from '../files/stored-files.module';
import { EraseVisitorFilesHandler } from './erase-visitor-files.handler';
import { VisitorFilesController } from './visitor-files.controller';
import { VisitorFilesRepository } from './visitor-files.repository';
import { VisitorFilesService } from './visitor-files.service';

@Module({
  imports: [ContentModule, StoredFilesModule],
  controllers: [VisitorFilesController, EraseVisitorFilesHandler],
  providers: [VisitorFilesRepository, VisitorFilesService],
})
export class VisitorFilesModule {}
