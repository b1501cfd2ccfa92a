import { Module } from '@nestjs/common';
import { BotDefinitionsModule } from '../bot-definitions/bot-definitions.module';
import { ConversationsModule } from '../conversations/conversations.module';
import { EventsModule } from '../events/events.module';
import { ListQueriesModule } from '../list-queries/list-queries.module';
import { TagsModule } from '../tags/tags.module';
import { UsersModule } from '../users/users.module';
import { ColumnWorkflowsService } from './column-workflows.service';
import { EndedWorkflowsService } from './ended-workflows.service';
import { StartColumnWorkflowHandler } from './start-column-workflow.handler';
import { WorkflowContinuationsService } from './workflow-continuations.service';
import { WorkflowEventsService } from './workflow-events.service';
import { WorkflowReferencesService } from './workflow-references.service';
import { WorkflowsController } from './workflows.controller';
import { WorkflowsRepository } from './workflows.repository';
import { WorkflowsService } from './workflows.service';

@Module({
  imports: [BotDefinitionsModule, ConversationsModule, EventsModule, ListQueriesModule, TagsModule, UsersModule],
  controllers: [WorkflowsController, StartColumnWorkflowHandler],
  providers: [
    WorkflowsService,
    WorkflowsRepository,
    ColumnWorkflowsService,
    WorkflowEventsService,
    WorkflowReferencesService,
    EndedWorkflowsService,
    WorkflowContinuationsService,
  ],
  exports: [WorkflowContinuationsService],
})
export class WorkflowsModule {}
