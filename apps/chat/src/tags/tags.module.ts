import { Module } from '@nestjs/common';
import { TagValuesRepository } from './tag-values.repository';
import { TagsController } from './tags.controller';
import { TagsRepository } from './tags.repository';
import { TagsService } from './tags.service';

@Module({
  controllers: [TagsController],
  providers: [TagsService, TagsRepository, TagValuesRepository],
  exports: [TagsRepository],
})
export class TagsModule {}
