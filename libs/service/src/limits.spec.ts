import { ServiceConfig } from './config';

it('works on 1,000 client operations of a service at once', () => {
  expect(new ServiceConfig().serviceMaxInFlight).toBe(1_000);
});
