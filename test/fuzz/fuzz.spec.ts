import { describeFuzz } from './fuzz.behaviour';
import { startAllServices } from '../support/all-services';

describeFuzz('in one process', startAllServices);
