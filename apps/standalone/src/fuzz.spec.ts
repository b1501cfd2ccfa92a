import { describeFuzz } from './test/fuzz.behaviour';
import { startAllServices } from './test/all-services';

describeFuzz('in one process', startAllServices);
