import { Reflector } from '@nestjs/core';

/** Marks a controller or route that needs no credentials. */
export const Public = Reflector.createDecorator<void>();
