import 'reflect-metadata';
import { allOperations } from '@parley/contracts/contracts';
import { move } from 'piscina';
import { openApiDocument } from './openapi';

/** OpenAPI document of the public operations, as JSON. */
export default function writeDocument(): Uint8Array {
  return move(new TextEncoder().encode(JSON.stringify(openApiDocument(allOperations)))) as Uint8Array;
}
