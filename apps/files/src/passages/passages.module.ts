import { Module } from '@nestjs/common';
import { StoredFilesModule } from '../files/stored-files.module';
import { IndexingWorkModule } from '../indexing-work/indexing-work.module';
import { PassagesController } from './passages.controller';
import { PassagesService } from './passages.service';

@Module({
  imports: [StoredFilesModule, IndexingWorkModule],
  controllers: [PassagesController],
  providers: [PassagesService],
})
export class PassagesModule {}
