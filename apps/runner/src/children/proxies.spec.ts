import { allowedOriginsOf, proxyEnvOf } from './proxies';

const addresses = { publicUrl: 'https://[::1]', contentUrl: 'http://content.example:3001' };

it('sets no proxy without one in the configuration', () => {
  expect(proxyEnvOf({ ...addresses, noProxy: 'site.example' })).toBeUndefined();
  expect(allowedOriginsOf(addresses)).toHaveLength(2);
});

it('excepts the API, the contents and localhost from proxies, whose addresses code may reach', () => {
  const config = { ...addresses, httpsProxy: 'http://user:password@proxy.example', noProxy: 'site.example,.test' };

  expect(proxyEnvOf(config)).toEqual({
    HTTPS_PROXY: 'http://user:password@proxy.example',
    NO_PROXY: '::1:443,[::1]:443,content.example:3001,localhost,site.example,.test',
  });
  expect(allowedOriginsOf(config)).toEqual([
    { hostname: '::1', port: 443 },
    { hostname: 'content.example', port: 3001 },
    { hostname: 'proxy.example', port: 80 },
  ]);
});
