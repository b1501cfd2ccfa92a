import { Controller } from '@nestjs/common';
import type { SubjectErased } from '@parley/contracts/chat/erased-subjects';
import { eraseVisitorFiles } from '@parley/contracts/visitor-files';
import { Consumes } from '@parley/transport/handles';
import { VisitorFilesService } from './visitor-files.service';

/** Idempotent: a repetition finds no files. */
@Controller()
export class EraseVisitorFilesHandler {
  constructor(private readonly files: VisitorFilesService) {}

  @Consumes(eraseVisitorFiles)
  async handle(erased: SubjectErased): Promise<void> {
    await this.files.eraseSubject(erased);
  }
}
