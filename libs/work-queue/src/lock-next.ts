export { lockNext, type NextRows } from '@parley/persistence/lock-next';
