import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

const executablePath = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();

export const hasChromium = executablePath !== '';

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
