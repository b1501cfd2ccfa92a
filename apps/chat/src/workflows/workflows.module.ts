import { Module } from '@nestjs/common';
import { ConversationsModule } from '../conversations/conversations.module';
import { EventsModule } from '../events/events.module';
import { ListQueriesModule } from '../queries/list-queries.module';
import { TagsModule } from '../tags/tags.module';
import { UsersModule } from '../users/users.module';
import { EndedWorkflowsService } from './ended-workflows.service';
import { WorkflowContinuationsService } from './workflow-continuations.service';
import { WorkflowEventsService } from './workflow-events.service';
import { WorkflowReferencesService } from './workflow-references.service';
import { WorkflowsController } from './workflows.controller';
import { WorkflowsRepository } from './workflows.repository';
import { WorkflowsService } from './workflows.service';

@Module({
  imports: [ConversationsModule, EventsModule, ListQueriesModule, TagsModule, UsersModule],
  controllers: [WorkflowsController],
  providers: [
    WorkflowsService,
    WorkflowsRepository,
    WorkflowEventsService,
    WorkflowReferencesService,
    EndedWorkflowsService,
    WorkflowContinuationsService,
  ],
  exports: [WorkflowContinuationsService],
})
export class WorkflowsModule {}
