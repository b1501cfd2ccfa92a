import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { Operation } from '@parley/contracts/operation';
import { followLogs } from '@parley/contracts/runtime/log-tails';
import type { FastifyReply } from 'fastify';
import { ForOperation, type ForwardedRequest } from '../bodies/forwarded-request';
import { SseConnection } from '../streams/connection';
import { LogTailsService } from './log-tails.service';

@Controller()
export class LogTailsController {
  constructor(private readonly tails: LogTailsService) {}

  @Get('v1/admin/bots/:id/logs/stream')
  @ForOperation(followLogs.ofBot)
  @RouteConfig({ operation: followLogs.ofBot })
  ofBot(@Param('id') id: string, @Req() request: ForwardedRequest, @Res() reply: FastifyReply) {
    return this.follow(followLogs.ofBot, id, request, reply);
  }

  @Get('operator/runtime/bots/:id/logs/stream')
  @ForOperation(followLogs.ofAnyBot)
  @RouteConfig({ operation: followLogs.ofAnyBot })
  ofAnyBot(@Param('id') id: string, @Req() request: ForwardedRequest, @Res() reply: FastifyReply) {
    return this.follow(followLogs.ofAnyBot, id, request, reply);
  }

  private async follow(operation: Operation, botId: string, request: ForwardedRequest, reply: FastifyReply) {
    await this.tails.follow({ botId, request, operation }, () => SseConnection.open(reply));
  }
}
