import type { Readable } from 'node:stream';
import { Controller, HttpCode, Inject, RequestMapping, RequestMethod, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { Operation, Route } from '@parley/contracts/operation';
import { ContractPipe, RequestExchange, type ValidExchange } from './contract.pipe';
import { ForOperation } from '../bodies/forwarded-request';
import { ForwardingService } from './forwarding.service';

/** Creates a controller for each service, with a route for each operation that has one in its contract. */
export function forwardingControllers(operations: Operation[]): Type[] {
  const services = new Set(operations.map(serviceOf));
  return [...services].map((service) =>
    forwardingController(
      service,
      operations.filter((operation) => serviceOf(operation) === service),
    ),
  );
}

function serviceOf({ subject }: Operation): string {
  return subject.slice(0, subject.indexOf('.'));
}

function forwardingController(service: string, operations: Operation[]): Type {
  @Controller()
  class ForwardingController {
    @Inject(ForwardingService) readonly forwarding!: ForwardingService;
  }
  Object.defineProperty(ForwardingController, 'name', { value: `${service} (forwarding)` });
  for (const operation of operations)
    if (operation.route) addOperation(ForwardingController, operation, operation.route);
  return ForwardingController;
}

function addOperation(controller: Type<{ forwarding: ForwardingService }>, operation: Operation, route: Route): void {
  const { prototype } = controller as { prototype: object };
  const { subject } = operation;
  const method = addMethod(
    controller,
    subject,
    function (this: { forwarding: ForwardingService }, exchange: ValidExchange): Promise<string | Readable> {
      return this.forwarding.forward(exchange);
    },
  );
  RequestExchange(operation, ContractPipe)(prototype, subject, 0);
  ForOperation(operation)(prototype, subject, method);
  HttpCode(operation.status)(prototype, subject, method);
  RouteConfig({ operation })(prototype, subject, method);
  mapRoute(route, method);
}

function addMethod(controller: Type, name: string, value: (...args: never[]) => unknown): PropertyDescriptor {
  const method = { value, configurable: true, writable: true, enumerable: false };
  Object.defineProperty(controller.prototype, name, method);
  return method;
}

/** `GET /v1/files/{id}` as Nest writes it: the method GET, the path `/v1/files/:id`. */
function mapRoute(route: Route, method: PropertyDescriptor): void {
  const [verb, path] = route.split(' ') as [keyof typeof RequestMethod, string];
  // Nest removes one slash at the end of a path.
  const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1').replace(/\/$/, '//');
  RequestMapping({ method: RequestMethod[verb], path: pattern })({}, '', method);
}
