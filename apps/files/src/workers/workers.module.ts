import { Module } from '@nestjs/common';
import { ExpiredFilesService } from './expired-files.service';
import { FileCleanupService } from './file-cleanup.service';

/** Removal of files that have expired, and of data that no file needs. */
@Module({ providers: [ExpiredFilesService, FileCleanupService] })
export class WorkersModule {}
